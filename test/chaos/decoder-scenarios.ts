/** What can happen to the process that reads pictures and PDFs. */
import { readFileSync } from 'node:fs';
import { blankPng } from '../fixture/files.ts';
import { awaitAgain } from './hearing.ts';
import { midTraffic, type Scenario, type Stage } from './scenario.ts';
import { FIRST_CHAT } from './traffic.ts';

const PACE_MS = 30;
const CHATS = 8;
/** Writes nothing but the files. */
const SENDER = FIRST_CHAT + CHATS;
const ANSWERED_MS = 20_000;
/** A decoder that has begun with a large picture has more than this; at its start it has less. */
const AT_WORK_MB = 95;
/** 320 MB of its own, and the programs. */
const MEMORY_MB_MAX = 450;
const LOOK_MS = 5;

/** Looks at the decoders of a gateway again and again: ends the first ones at their work, and notes what any has at most. */
function watchDecoders(gatewayPid: number, kills: number) {
  const seen = { killed: new Set<number>(), mostMb: 0 };
  const timer = setInterval(() => {
    for (const pid of childrenOf(gatewayPid)) {
      const megabytes = megabytesOf(pid);
      seen.mostMb = Math.max(seen.mostMb, megabytes);
      if (seen.killed.size >= kills || seen.killed.has(pid) || megabytes < AT_WORK_MB) continue;
      seen.killed.add(pid);
      process.kill(pid, 'SIGKILL');
    }
  }, LOOK_MS);
  return { seen, end: () => clearInterval(timer) };
}

function childrenOf(pid: number): number[] {
  return read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
}

function megabytesOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) / 1024;
}

/** What is gone by now reads as nothing. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Sends a file, and waits until its sender was told something. */
async function sendFile({ world, ...stage }: Stage, name: string, bytes: Buffer, says: RegExp): Promise<void> {
  const before = world.telegram.shown(SENDER).length;
  const id = world.telegram.addFile(bytes, `documents/${name}`);
  const document = { file_id: id, file_unique_id: id, file_name: name, file_size: bytes.length };
  world.telegram.say(SENDER, '', { extra: { document } });
  const look = () =>
    world.telegram
      .shown(SENDER)
      .slice(before)
      .some(({ text }) => says.test(text));
  await awaitAgain(stage, { what: `the right word about ${name}`, maxMs: ANSWERED_MS }, look);
}

const decoderKilled: Scenario = {
  name: 'decoder-killed',
  about:
    'a decoder is killed over a torn picture, and a PDF comes that wants gigabytes: their sender is told the true reasons, and nobody else notices',
  traffic: { messages: 60, chats: CHATS },
  env: { TELEGRAM_ALLOWED_IDS: Array.from({ length: CHATS + 1 }, (_, at) => FIRST_CHAT + at).join(',') },
  async play(stage) {
    const gateway = await stage.world.fleet.start();
    await midTraffic(stage, PACE_MS, async () => {
      const decoders = watchDecoders(gateway.pid, 1);
      await stage.faults.during('decoder killed', [], () =>
        // Only a decoder that gets to its end finds that.
        sendFile(stage, 'torn.png', blankPng(9_000, 9_000).subarray(0, -1_000), /is damaged/),
      );
      const nested = Buffer.from(`%PDF-1.7\n${'('.repeat(19_000_000)}`);
      await stage.faults.during('hostile file', [], () => sendFile(stage, 'nested.pdf', nested, /out of memory/));
      decoders.end();
      const { killed, mostMb } = decoders.seen;
      await awaitAgain(stage, { what: 'a decoder to kill', maxMs: 1 }, () => killed.size === 1);
      await awaitAgain(stage, { what: 'a decoder within its memory', maxMs: 1 }, () => mostMb < MEMORY_MB_MAX);
    });
    await awaitAgain(stage, { what: 'the same gateway', maxMs: 1 }, () => stage.world.fleet.running.includes(gateway));
  },
};

/** Everything about the decoder. */
export const DECODER_SCENARIOS: readonly Scenario[] = [decoderKilled];
