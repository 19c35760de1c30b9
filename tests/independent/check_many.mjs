// Runs the checker many times in one process: reads a JSON list of options from standard input, prints the list of
// reports. Options may hold `change: {file, at, mask, cut}`: the byte at `at` of that file in `dir` is changed (or the
// file cut there) for this one check, and put back.

import fs from "node:fs/promises";
import path from "node:path";

import { checkLog } from "./check_log.mjs";

let input = "";
for await (const chunk of process.stdin.setEncoding("utf-8")) input += chunk;

const reports = [];
for (const { change, ...options } of JSON.parse(input)) {
  if (!change) {
    reports.push(await checkLog(options));
    continue;
  }
  const file = path.join(options.dir, change.file);
  const whole = await fs.readFile(file);
  const changed = change.cut ? whole.subarray(0, change.at) : Buffer.from(whole);
  if (!change.cut) changed[change.at] ^= change.mask;
  await fs.writeFile(file, changed);
  reports.push(await checkLog(options));
  await fs.writeFile(file, whole);
}
console.log(JSON.stringify(reports));
