import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';

const FRAME = /(file:\/\/[^\s()]+\.js):(\d+):(\d+)/g;

/** Those that an error has asked for. A process without errors reads none. */
const maps = new Map<string, SourceMap | undefined>();

/**
 * A stack with the places of the sources instead of those of a bundle (`scripts/bundle.mjs`). A place that has no map
 * stays as it is.
 */
export function inSources(stack: string): string {
  return stack.replace(FRAME, (frame, url: string, line: string, column: string) => {
    const origin = mapOf(url)?.findOrigin(Number(line), Number(column));
    if (origin === undefined || !('fileName' in origin)) return frame;
    return `${new URL(origin.fileName, url).href}:${origin.lineNumber}:${origin.columnNumber}`;
  });
}

function mapOf(url: string): SourceMap | undefined {
  if (!maps.has(url)) maps.set(url, readMap(url));
  return maps.get(url);
}

/** A map that is missing, or broken, must not hide the error that is being described. */
function readMap(url: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(url)}.map`, 'utf8')));
  } catch {
    return undefined;
  }
}
