// Helia and @helia/verified-fetch as a stranger's program would use them: one JSON command a line on stdin, one
// JSON reply a line on stdout, behind "@". It ends when stdin does, so it never outlives the tests.
//
// Each command gets a client of its own with an empty store, which knows the routers (`routers`) and recursive
// gateways (`gateways`) of the command and nobody else: no libp2p, no public router, no public gateway.
// What Helia hands out it has hashed. A gateway alone keeps it asking for ever, so every command has an end
// (`timeout_ms`).
//
// {do: "versions"}                                what runs here
// {do: "block", cid, …}                           one block, decoded
// {do: "car", url, cid, …}                        a CAR, each block hashed, then the root read out of Helia
// {do: "resolve", name, …}                        what an IPNS name points to, its record validated
// {do: "fetch", url, accept?, …}                  a response of verified-fetch to an ipfs:// or ipns:// address

import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { car } from '@helia/car'
import { withHTTP } from '@helia/http'
import { ipns } from '@helia/ipns'
import { createVerifiedFetch } from '@helia/verified-fetch'
import { CarReader } from '@ipld/car'
import * as dagCbor from '@ipld/dag-cbor'
import { createHeliaLight } from 'helia'
import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'

const DAG_CBOR = 'application/vnd.ipld.dag-cbor'
const base64 = (bytes) => Buffer.from(bytes).toString('base64')

/** DAG-CBOR's values as JSON: links as {"/": CID}, bytes as {"bytes": base64}, big integers as text. */
function plain(value) {
  if (typeof value === 'bigint') return value.toString()
  if (value === null || typeof value !== 'object') return value
  if (value instanceof Uint8Array) return { bytes: base64(value) }
  const link = CID.asCID(value)
  if (link !== null) return { '/': link.toString() }
  if (Array.isArray(value)) return value.map(plain)
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]))
}

/** What a reply says of bytes. */
function said(bytes, isDagCbor) {
  return { bytes: base64(bytes), value: isDagCbor ? plain(dagCbor.decode(bytes)) : null }
}

async function withHelia({ routers = [], gateways = [] }, work) {
  const helia = await withHTTP(createHeliaLight({ codecs: [dagCbor] }), {
    delegatedRouters: routers,
    recursiveGateways: gateways,
    allowInsecure: true, // http without TLS
    allowLocal: true // on loopback
  }).start()
  try {
    return await work(helia)
  } finally {
    await helia.stop()
  }
}

async function read(helia, cid, options) {
  const parts = []
  for await (const part of helia.blockstore.get(cid, options)) parts.push(part)
  return said(Buffer.concat(parts), cid.code === dagCbor.code)
}

const commands = {
  async versions() {
    const found = { node: process.versions.node }
    for (const name of ['helia', '@helia/verified-fetch']) {
      const about = new URL(`node_modules/${name}/package.json`, import.meta.url)
      found[name] = JSON.parse(await readFile(about, 'utf8')).version
    }
    return found
  },

  async block({ cid, ...where }, signal) {
    return await withHelia(where, (helia) => read(helia, CID.parse(cid), { signal }))
  },

  async car({ url, cid, ...where }, signal) {
    const response = await fetch(url, { headers: { Accept: 'application/vnd.ipld.car' }, signal })
    if (!response.ok) throw new Error(`status ${response.status}`)
    const reader = await CarReader.fromBytes(new Uint8Array(await response.arrayBuffer()))
    const blocks = []
    for await (const block of reader.blocks()) {
      const digest = (await sha256.digest(block.bytes)).bytes
      if (Buffer.compare(digest, block.cid.multihash.bytes) !== 0) throw new Error(`${block.cid} was altered`)
      blocks.push(block.cid.toString())
    }
    const roots = (await reader.getRoots()).map(String)
    const root = await withHelia(where, async (helia) => {
      await car(helia).import(reader, { signal })
      return await read(helia, CID.parse(cid), { signal, offline: true })
    })
    return { roots, blocks, type: response.headers.get('content-type'), ...root }
  },

  async resolve({ name, ...where }, signal) {
    return await withHelia(where, async (helia) => {
      for await (const found of ipns(helia).resolve(CID.parse(name), { signal, nocache: true })) {
        return { value: found.value }
      }
      throw new Error('the name is not known')
    })
  },

  async fetch({ url, accept, ...where }, signal) {
    return await withHelia(where, async (helia) => {
      const verifiedFetch = await createVerifiedFetch(helia)
      const headers = accept === undefined ? {} : { Accept: accept }
      const response = await verifiedFetch(url, { signal, headers })
      const bytes = new Uint8Array(await response.arrayBuffer())
      await verifiedFetch.stop()
      const type = response.headers.get('content-type')
      return { status: response.status, type, ...said(bytes, type === DAG_CBOR) }
    })
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { do: what, timeout_ms: limit, ...fields } = JSON.parse(line)
  let reply
  try {
    reply = { ok: true, ...(await commands[what](fields, AbortSignal.timeout(limit))) }
  } catch (error) {
    reply = { ok: false, error: String(error), causes: (error.errors ?? []).map(String) }
  }
  process.stdout.write(`@${JSON.stringify(reply)}\n`)
}
process.exit(0)
