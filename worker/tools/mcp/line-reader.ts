/** Splits chunks into lines and reads each byte once. A line that is too long is reported as far as it arrived. */
export function lineReader(bytesMax: number, onLine: (line: Buffer) => void, onLong: (start: Buffer) => void) {
  let parts: Buffer[] = [];
  let bytes = 0;
  const take = (onLine: (line: Buffer) => void) => {
    const line = Buffer.concat(parts);
    parts = [];
    bytes = 0;
    onLine(line);
  };
  const add = (part: Buffer) => {
    parts.push(part);
    bytes += part.length;
    if (bytes > bytesMax) take(onLong);
  };
  return (chunk: Buffer) => {
    let start = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, start)) {
      add(chunk.subarray(start, at));
      take(onLine);
      start = at + 1;
    }
    add(chunk.subarray(start));
  };
}
