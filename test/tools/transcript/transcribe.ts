import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, relative } from 'node:path';
import { pageOf } from './page.ts';
import { type PlayedScene, playScene, type Scene } from './scene.ts';

/** Plays scenes and writes their page, whatever became of them. Returns whether all were as expected. */
export async function transcribe(
  scenes: readonly Scene[],
  file: string,
  say: (line: string) => void,
): Promise<boolean> {
  const played: PlayedScene[] = [];
  for (const scene of scenes) {
    const result = await playScene(scene);
    say(result.failure === undefined ? `ok     ${scene.name}` : `FAILED ${scene.name}: ${result.failure}`);
    played.push(result);
  }
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, pageOf(played));
  say(`\nWritten: ${relative(process.cwd(), file) || file}`);
  return played.every(({ failure }) => failure === undefined);
}
