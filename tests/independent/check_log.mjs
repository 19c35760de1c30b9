// An independent checker of a transparency log, for people who do not want to take our word for it.
//
//   node check_log.mjs --dir DIR | --url BASE  --vkey VKEY|@FILE ...  [--since FILE] [--receipt FILE --leaf FILE]
//
// It needs Node 18 or newer and nothing else, and shares nothing with the program that writes the log. Written from
// RFC 6962 section 2.1 and the C2SP specifications signed-note, tlog-checkpoint, tlog-cosignature, tlog-tiles and
// tlog-proof. Checked, in this order:
//   1. The checkpoint's form and its signatures: no known key's signature fails, and a key of the log (kind 0x01,
//      named as the origin) has signed. --vkey may be repeated, also with witnesses' keys (kind 0x04).
//   2. Each entry bundle and level-0 tile: as many entries as the size says, each hashing to its place in the tile.
//   3. Each entry: RFC 8785 JSON of ASCII and 53-bit integers, {"entry","seq","time_us","v":2}, seq = its index.
//   4. Each tile of the levels above, and the root.
//   5. In a folder, every other file under tile/ (partial tiles of earlier sizes), vkey and checkpoint.witnessed.
//      What lies beyond the checkpoint's size is counted as "ahead", and not judged.
//   6. With --since: that older signed checkpoint is the same log at an earlier size.
//   7. With --receipt and --leaf: the receipt proves that leaf, and the log holds it there.
// Prints one line of JSON and exits 0 if all holds, otherwise 1. A folder's journal/ and epochs/ are not read: an
// epoch is a log of its own, to be checked with its own key.

import crypto from "node:crypto";
import fs from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import zlib from "node:zlib";

const WIDTH = 256;
const HASH = 32;
const NOTE_MAX = 128 * 1024;
const ENTRIES_MAX = 50_000_000; // bounds memory: 32 bytes for each
const SAFE = 2n ** 53n - 1n;

const fail = (message) => {
  throw new Error(message);
};
const sha256 = (...parts) => {
  const hash = crypto.createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
};

// --- text: one spelling for each value -----------------------------------------------------------------------

function utf8(bytes) {
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    fail("not UTF-8");
  }
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20 && code !== 0x0a) fail("a control character");
  }
  return text;
}

function base64(text, length) {
  const bytes = Buffer.from(text, "base64");
  if (bytes.toString("base64") !== text) fail("not standard base64");
  if (length !== undefined && bytes.length !== length) fail(`not ${length} bytes of base64`);
  return bytes;
}

function decimal(text) {
  if (!/^(0|[1-9][0-9]{0,18})$/.test(text)) fail("not a decimal without leading zeros");
  const value = BigInt(text);
  if (value >= 2n ** 63n) fail("a number of more than 63 bits");
  return value;
}

// --- notes ---------------------------------------------------------------------------------------------------

const goodName = (name) => name.length > 0 && !/[\s+\u0085]/u.test(name);

function parseVkey(text) {
  const match = /^([^+]*)\+([0-9a-f]{8})\+(.*)$/su.exec(text);
  if (!match || !goodName(match[1])) fail("not a verifier key");
  const [, name, id, encoded] = match;
  const typed = base64(encoded);
  const kind = typed[0];
  if ((kind !== 1 && kind !== 4) || typed.length !== 33) fail("a key of a kind that this checker does not know");
  if (sha256(`${name}\n`, typed).subarray(0, 4).toString("hex") !== id) fail("a verifier key with a wrong key id");
  const jwk = { kty: "OKP", crv: "Ed25519", x: typed.subarray(1).toString("base64url") };
  return { name, id, kind, text, key: crypto.createPublicKey({ key: jwk, format: "jwk" }) };
}

function parseNote(bytes) {
  if (bytes.length > NOTE_MAX) fail("a note that is too long");
  const whole = utf8(bytes);
  const split = whole.lastIndexOf("\n\n");
  if (split < 0 || !whole.endsWith("\n")) fail("not a signed note");
  const text = whole.slice(0, split + 1);
  const lines = whole.slice(split + 2).split("\n").slice(0, -1);
  if (lines.length < 1 || lines.length > 64) fail("no signatures, or too many");
  const signatures = lines.map((line) => {
    const match = /^— ([^ ]+) ([^ ]+)$/u.exec(line);
    if (!match || !goodName(match[1])) fail("not a signature line");
    const blob = base64(match[2]);
    if (blob.length < 5) fail("a signature that is too short");
    return { name: match[1], id: blob.subarray(0, 4).toString("hex"), blob: blob.subarray(4) };
  });
  const body = text.slice(0, -1).split("\n");
  if (body.length < 3 || body.some((line) => line === "")) fail("not a checkpoint");
  const size = decimal(body[1]);
  if (size > BigInt(ENTRIES_MAX)) fail(`more than ${ENTRIES_MAX} entries, which this checker does not take`);
  return { text, origin: body[0], size: Number(size), root: base64(body[2], HASH), signatures };
}

// Returns the note with `signedBy` ({name: time or null}). A known key whose signature fails refuses the note.
function openNote(bytes, keys) {
  const note = parseNote(bytes);
  note.signedBy = {};
  let isLogs = false;
  for (const { name, id, blob } of note.signatures) {
    const key = keys.find((one) => one.name === name && one.id === id);
    if (!key) continue;
    let message = note.text;
    let time = null;
    if (key.kind === 4) {
      if (blob.length !== 72) fail(`the cosignature of ${name} has the wrong length`);
      time = blob.readBigUInt64BE();
      message = `cosignature/v1\ntime ${time}\n${note.text}`;
    }
    const raw = key.kind === 4 ? blob.subarray(8) : blob;
    if (raw.length !== 64 || !crypto.verify(null, Buffer.from(message), key.key, raw)) {
      fail(`the signature of ${name} does not hold`);
    }
    note.signedBy[name] = time === null ? null : Number(time);
    if (key.kind === 1 && name === note.origin) isLogs = true;
  }
  if (!isLogs) fail(`no given key of ${note.origin} has signed the checkpoint`);
  return note;
}

// --- entries -------------------------------------------------------------------------------------------------

// Reads one canonical JSON value (RFC 8785, ASCII, integers) at `at`; returns [value, next]. Integers are BigInts.
function canonicalValue(text, at, depth) {
  if (depth > 64) fail("nested too deeply");
  const char = text[at];
  if (char === '"') return canonicalString(text, at);
  if (char === "{") return canonicalObject(text, at, depth);
  if (char === "[") {
    const items = [];
    if (text[at + 1] === "]") return [items, at + 2];
    do {
      const [item, next] = canonicalValue(text, at + 1, depth + 1);
      items.push(item);
      at = next;
    } while (text[at] === ",");
    if (text[at] !== "]") fail("an array without end");
    return [items, at + 1];
  }
  for (const [word, value] of [["true", true], ["false", false], ["null", null]]) {
    if (text.startsWith(word, at)) return [value, at + word.length];
  }
  const match = /^(0|-?[1-9][0-9]{0,15})(?![0-9.eE])/.exec(text.slice(at, at + 18));
  if (!match) fail("neither a value nor an integer in canonical form");
  const number = BigInt(match[1]);
  if (number > SAFE || number < -SAFE) fail("an integer of more than 53 bits");
  return [number, at + match[1].length];
}

function canonicalObject(text, at, depth) {
  const members = new Map();
  let last;
  if (text[at + 1] === "}") return [members, at + 2];
  do {
    if (text[at + 1] !== '"') fail("a member without a name");
    const [name, afterName] = canonicalString(text, at + 1);
    if (last !== undefined && !(last < name)) fail("members that are not in order, or one twice");
    last = name;
    if (text[afterName] !== ":") fail("a member without a colon");
    const [value, next] = canonicalValue(text, afterName + 1, depth + 1);
    members.set(name, value);
    at = next;
  } while (text[at] === ",");
  if (text[at] !== "}") fail("an object without end");
  return [members, at + 1];
}

const SHORT = { '"': '"', "\\": "\\", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

function canonicalString(text, at) {
  let value = "";
  for (at += 1; text[at] !== '"'; at++) {
    if (at >= text.length) fail("a string without end");
    if (text[at] !== "\\") {
      if (text.charCodeAt(at) < 0x20 || text.charCodeAt(at) > 0x7f) fail("a character that is not ASCII text");
      value += text[at];
    } else if (text[at + 1] in SHORT) {
      value += SHORT[text[++at]];
    } else {
      const match = /^\\u00([01][0-9a-f])/.exec(text.slice(at, at + 6));
      const code = match ? parseInt(match[1], 16) : 0;
      if (!match || "\b\f\n\r\t".includes(String.fromCharCode(code))) fail("an escape that is not canonical");
      value += String.fromCharCode(code);
      at += 5;
    }
  }
  return [value, at + 1];
}

// Returns the leaf's time in µs.
function checkLeaf(bytes, index) {
  const text = bytes.toString("latin1");
  const [leaf, end] = canonicalValue(text, 0, 0);
  if (end !== text.length) fail("bytes after the JSON");
  if (!(leaf instanceof Map) || [...leaf.keys()].join() !== "entry,seq,time_us,v") fail("not the members of a leaf");
  if (!(leaf.get("entry") instanceof Map)) fail("an entry that is not an object");
  if (leaf.get("v") !== 2n) fail("a leaf of another version");
  if (leaf.get("seq") !== BigInt(index)) fail(`a leaf that says it is number ${leaf.get("seq")}`);
  const time = leaf.get("time_us");
  if (typeof time !== "bigint" || time < 0n) fail("a time that is not a count of microseconds");
  return Number(time);
}

function parseBundle(bytes, width) {
  const entries = [];
  let at = 0;
  for (let count = 0; count < width; count++) {
    if (at + 2 > bytes.length) fail(`it ends before entry ${count} of ${width}`);
    const end = at + 2 + bytes.readUInt16BE(at);
    if (end > bytes.length) fail(`it ends within entry ${count} of ${width}`);
    entries.push(bytes.subarray(at + 2, end));
    at = end;
  }
  return { entries, end: at };
}

// --- the tree ------------------------------------------------------------------------------------------------

const leafHash = (entry) => sha256(Buffer.from([0]), entry);
const nodeHash = (left, right) => sha256(Buffer.from([1]), left, right);

// MTH(D[start:end]) of RFC 6962 over the hashes of the leaves.
function treeHash(hashes, start, end) {
  const count = end - start;
  if (count === 0) return sha256();
  if (count === 1) return hashes.subarray(start * HASH, end * HASH);
  let split = 1;
  while (split * 2 < count) split *= 2;
  return nodeHash(treeHash(hashes, start, start + split), treeHash(hashes, start + split, end));
}

// RFC 9162 section 2.1.3.2, over BigInts.
function rootOfProof(leaf, index, size, proof) {
  if (index >= size) fail("the receipt's index is not below its size");
  let node = BigInt(index);
  let last = BigInt(size) - 1n;
  let hash = leaf;
  for (const sibling of proof) {
    if (last === 0n) fail("the receipt's proof is too long");
    if (node & 1n || node === last) {
      hash = nodeHash(sibling, hash);
      while (!(node & 1n) && node !== 0n) {
        node >>= 1n;
        last >>= 1n;
      }
    } else {
      hash = nodeHash(hash, sibling);
    }
    node >>= 1n;
    last >>= 1n;
  }
  if (last !== 0n) fail("the receipt's proof is too short");
  return hash;
}

function tilePath(level, index, width) {
  const groups = [String(index % 1000).padStart(3, "0")];
  for (let rest = Math.floor(index / 1000); rest > 0; rest = Math.floor(rest / 1000)) {
    groups.unshift(`x${String(rest % 1000).padStart(3, "0")}`);
  }
  return `tile/${level}/${groups.join("/")}${width === WIDTH ? "" : `.p/${width}`}`;
}

// --- where the log is ----------------------------------------------------------------------------------------

class Folder {
  constructor(directory) {
    this.directory = directory;
  }

  async read(name, most) {
    if (/^tile\/entries\/(x\d{3}\/)*\d{3}$/.test(name)) { // a whole bundle lies there as gzip, or plain
      const packed = await this.readFile(`${name}.gz`, 2 * most);
      if (packed !== null) return zlib.gunzipSync(packed, { maxOutputLength: most });
    }
    return this.readFile(name, most);
  }

  async readFile(name, most) {
    const file = path.join(this.directory, name);
    let status;
    try {
      status = await fs.stat(file);
    } catch {
      return null;
    }
    if (!status.isFile()) return null;
    if (status.size > most) fail("longer than it can be");
    return fs.readFile(file);
  }

  async list(name) {
    const found = [];
    const entries = await fs.readdir(path.join(this.directory, name), { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      const inner = `${name}/${entry.name}`;
      if (entry.isDirectory()) found.push(...(await this.list(inner)));
      else found.push(inner.replace(/^(tile\/entries\/.*)\.gz$/, "$1"));
    }
    return found;
  }
}

class Site {
  constructor(base) {
    this.base = base.endsWith("/") ? base : `${base}/`;
  }

  async read(name, most) {
    const response = await fetch(new URL(name, this.base), { signal: AbortSignal.timeout(30_000), redirect: "error" });
    if (response.status === 404) return null;
    if (response.status !== 200) fail(`the server answered ${response.status}`);
    const type = name === "checkpoint" ? "text/plain; charset=utf-8" : "application/octet-stream";
    if (response.headers.get("content-type") !== type) fail(`its Content-Type is not ${type}`);
    const chunks = [];
    let length = 0;
    for await (const chunk of response.body) {
      length += chunk.length;
      if (length > most) fail("longer than it can be");
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }
}

// --- the walk ------------------------------------------------------------------------------------------------

// Never throws: what cannot be read is not ok. `options` as on the command line, `vkey` a list.
export async function checkLog(options) {
  const place = options.dir ? new Folder(options.dir) : new Site(options.url);
  const report = {};
  let where = "arguments";
  try {
    const keys = [];
    for (const given of options.vkey) {
      const text = given.startsWith("@") ? utf8(await fs.readFile(given.slice(1))) : given;
      for (const line of text.split("\n")) if (line.trim() !== "") keys.push(parseVkey(line.trim()));
    }

    where = "checkpoint"; // 1
    const data = await place.read("checkpoint", NOTE_MAX);
    if (data === null) fail("there is none");
    const note = openNote(data, keys);
    const { size } = note;
    Object.assign(report, { origin: note.origin, size, root: note.root.toString("base64"), signed_by: note.signedBy });

    // A tile of this width at least: a log may remove a partial tile once the full one is there.
    const readTile = async (level, index, width, most) => {
      where = tilePath(level, index, width);
      const exact = await place.read(where, most(width));
      if (exact !== null || width === WIDTH) return { bytes: exact ?? fail("there is none"), width };
      where = tilePath(level, index, WIDTH);
      return { bytes: (await place.read(where, most(WIDTH))) ?? fail("there is none, nor the partial tile"), width: WIDTH };
    };
    const hashTile = async (level, index, expected) => {
      const width = expected.length / HASH;
      const tile = await readTile(level, index, width, (wide) => wide * HASH);
      if (tile.bytes.length !== tile.width * HASH) fail(`not ${tile.width} hashes`);
      if (!tile.bytes.subarray(0, expected.length).equals(expected)) fail("a hash that is not the tree's");
    };

    // 2 and 3
    const leaves = Buffer.alloc(size * HASH);
    let tiles = 0;
    let bundles = 0;
    for (let start = 0; start < size; start += WIDTH) {
      const width = Math.min(WIDTH, size - start);
      const bundle = await readTile("entries", start / WIDTH, width, (wide) => wide * (2 + 65_535));
      const { entries, end } = parseBundle(bundle.bytes, width);
      if (bundle.width === width && end !== bundle.bytes.length) fail("bytes after the last entry");
      entries.forEach((entry, at) => {
        where = `entry ${start + at}`;
        const time = checkLeaf(entry, start + at);
        report.first_time_us ??= time;
        report.last_time_us = time;
        leafHash(entry).copy(leaves, (start + at) * HASH);
      });
      await hashTile(0, start / WIDTH, leaves.subarray(start * HASH, (start + width) * HASH));
      bundles += 1;
      tiles += 1;
    }

    // 4
    const rows = [leaves];
    for (let row = leaves; row.length >= WIDTH * HASH; ) {
      const count = Math.floor(row.length / HASH / WIDTH);
      const next = Buffer.alloc(count * HASH);
      for (let at = 0; at < count; at++) treeHash(row, at * WIDTH, (at + 1) * WIDTH).copy(next, at * HASH);
      const level = rows.push(next) - 1;
      for (let at = 0; at * WIDTH < count; at++) {
        await hashTile(level, at, next.subarray(at * WIDTH * HASH, Math.min(count, (at + 1) * WIDTH) * HASH));
        tiles += 1;
      }
      row = next;
    }
    where = "checkpoint";
    if (!treeHash(leaves, 0, size).equals(note.root)) fail("its root is not the root of the entries");
    Object.assign(report, { tiles, bundles });

    const sameLog = (other) => {
      if (other.origin !== note.origin) fail(`it is of another log, ${other.origin}`);
      if (other.size > size) fail(`it has ${other.size} entries, and the log only ${size}: the log has gone back`);
      if (!treeHash(leaves, 0, other.size).equals(other.root)) fail("its root is not this log's root at that size");
    };

    if (options.dir) {
      // 5
      let ahead = 0;
      let earlier = 0;
      for (const name of await place.list("tile")) {
        where = name;
        const match = /^tile\/(entries|0|[1-9][0-9]?)\/((?:x[0-9]{3}\/)*[0-9]{3})(?:\.p\/([0-9]+))?$/.exec(name);
        if (!match) fail("not the name of a tile");
        const index = Number(match[2].replace(/[x/]/g, ""));
        const width = match[3] === undefined ? WIDTH : Number(match[3]);
        if (tilePath(match[1], index, width) !== name || width < 1 || width > WIDTH) fail("not the name of a tile");
        const level = match[1] === "entries" ? 0 : Number(match[1]);
        const row = rows[level] ?? Buffer.alloc(0);
        const expected = row.subarray(index * WIDTH * HASH, (index * WIDTH + width) * HASH);
        if (expected.length < width * HASH) {
          ahead += 1;
          continue;
        }
        earlier += 1;
        if (match[1] !== "entries") {
          if (!(await place.read(name, width * HASH)).equals(expected)) fail("a hash that is not the tree's");
          continue;
        }
        const bytes = await place.read(name, width * (2 + 65_535));
        const { entries, end } = parseBundle(bytes, width);
        if (end !== bytes.length) fail("bytes after the last entry");
        if (!Buffer.concat(entries.map(leafHash)).equals(expected)) fail("an entry that is not the tree's");
      }
      Object.assign(report, { files: earlier, ahead });
      where = "vkey";
      const listed = await place.read("vkey", NOTE_MAX);
      if (listed !== null) {
        const text = utf8(listed);
        if (!text.endsWith("\n")) fail("its last line has no end");
        const own = text.slice(0, -1).split("\n").map(parseVkey);
        if (own.some((key) => key.name !== note.origin)) fail(`a key that is not named ${note.origin}`);
        const hasSigned = (key) => note.signatures.some((one) => one.name === key.name && one.id === key.id);
        if (!own.some(hasSigned)) fail("none of its keys has signed the checkpoint");
      }
      where = "checkpoint.witnessed";
      const witnessed = await place.read("checkpoint.witnessed", NOTE_MAX);
      if (witnessed !== null) {
        const other = openNote(witnessed, keys);
        sameLog(other);
        report.witnessed = { size: other.size, signed_by: other.signedBy };
      }
    }

    if (options.since) {
      where = options.since; // 6
      const since = openNote(await fs.readFile(options.since), keys);
      sameLog(since);
      report.since = { size: since.size };
    }

    if (options.receipt) {
      where = options.receipt; // 7
      const receipt = await fs.readFile(options.receipt);
      const split = receipt.indexOf("\n\n");
      if (split < 0) fail("not a receipt");
      const lines = utf8(receipt.subarray(0, split)).split("\n");
      if (lines.shift() !== "c2sp.org/tlog-proof@v1") fail("not a receipt");
      if (lines[0]?.startsWith("extra ")) base64(lines.shift().slice(6));
      if (!lines[0]?.startsWith("index ")) fail("a receipt without an index");
      const index = decimal(lines.shift().slice(6));
      if (lines.length > 63) fail("a receipt with too many hashes");
      const proof = lines.map((line) => base64(line, HASH));
      const proven = openNote(receipt.subarray(split + 2), keys);
      const leaf = leafHash(await fs.readFile(options.leaf));
      if (!rootOfProof(leaf, index, proven.size, proof).equals(proven.root)) fail("it does not prove this leaf");
      sameLog(proven);
      const at = Number(index) * HASH;
      if (!leaves.subarray(at, at + HASH).equals(leaf)) fail("the log holds another leaf there");
      report.receipt = { index: Number(index), size: proven.size };
    }
    return { ok: true, ...report };
  } catch (error) {
    return { ok: false, error: `${where}: ${error.message}`, ...report };
  }
}

// --- arguments -----------------------------------------------------------------------------------------------

function parseArguments(words) {
  const options = { vkey: [] };
  for (let at = 0; at < words.length; at += 2) {
    const name = words[at].replace(/^--/, "");
    const value = words[at + 1];
    if (!words[at].startsWith("--") || value === undefined) return null;
    if (name === "vkey") options.vkey.push(value);
    else if (["dir", "url", "since", "receipt", "leaf"].includes(name) && !(name in options)) options[name] = value;
    else return null;
  }
  const isWhole = Boolean(options.dir) !== Boolean(options.url) && options.vkey.length > 0;
  return isWhole && Boolean(options.receipt) === Boolean(options.leaf) ? options : null;
}

const USAGE =
  "usage: node check_log.mjs --dir DIR|--url BASE --vkey VKEY|@FILE [--vkey ...] [--since FILE] " +
  "[--receipt FILE --leaf FILE]";

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const options = parseArguments(process.argv.slice(2));
  const report = options ? await checkLog(options) : { ok: false, error: USAGE };
  console.log(JSON.stringify(report));
  process.exitCode = report.ok ? 0 : 1;
}
