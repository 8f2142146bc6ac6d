import { expect, test } from '@jest/globals';
import { factOf, type LongChat, liveLongChat } from '../fixture/long-chat.ts';

const EXCHANGES = 1_000;
const FLAT = 1.3;

const CHATS: readonly LongChat[] = [
  { exchanges: EXCHANGES, windowTokens: 20_000, script: 'cjk', toolsEvery: 5 },
  { exchanges: EXCHANGES, windowTokens: 64_000, script: 'latin', toolsEvery: 5 },
  { exchanges: EXCHANGES, windowTokens: 200_000, script: 'cjk', toolsEvery: 0 },
];

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

test.each(CHATS)(
  '$exchanges exchanges ($script, window $windowTokens, tools every $toolsEvery): stable prefix, nothing lost, flat cost',
  async (chat) => {
    const figures = await liveLongChat(chat);
    expect(figures.compactions).toBeGreaterThan(0);
    expect(figures.prefixBreaks).toBeLessThanOrEqual(figures.compactions);
    expect(figures.unseen).toEqual([]);
    expect(figures.recalled).toContain(factOf(3));
    expect(figures.notices).toEqual([]);
    const { costs, firstCompaction } = figures;
    const after = costs.slice(firstCompaction + 1, firstCompaction + 101);
    expect(median(costs.slice(-101, -1)) / median(after)).toBeLessThanOrEqual(FLAT);
  },
  240_000,
);
