// Packs what was built: http/build.rs takes it from here. Fails when it is too large.
import { readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const LARGEST = 100_000;

let all = 0;
for (const name of ["index.html", "dashboard.js", "dashboard.css"]) {
  const packed = gzipSync(readFileSync(`dist/${name}`), { level: 9 });
  writeFileSync(`packed/${name}.gz`, packed);
  all += packed.length;
}
console.log(`dashboard: ${all} bytes, packed`);
if (all > LARGEST) {
  console.error(`dashboard: that is more than ${LARGEST}`);
  process.exit(1);
}
