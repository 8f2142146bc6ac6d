import assert from 'node:assert/strict';
import { judgeAll } from '../live/expectation.ts';
import { EXPECTATIONS } from '../live/expectations.ts';
import { openLine } from '../live/line.ts';
import { obeys } from '../live/obedient.ts';
import type { Check } from './check.ts';
import { MODEL } from './ground.ts';

/**
 * What LiteLLM does in its own way: it states the longest output under another name, and where thinking is refused behind
 * an edited message it leaves all thinking out by itself and asks again.
 */
const OWN_WAYS = ['the models endpoint states', 'thinking behind an edited message'];

/** What `npm run live` asks of the real endpoint. */
export const BELIEF_CHECKS: readonly Check[] = [
  {
    name: 'what npm run live asks of an endpoint holds behind the proxy, too',
    async run(ground) {
      ground.play(obeys);
      const { url = '', key = '' } = ground.proxy ?? {};
      const line = await openLine({ apiKey: key, baseURL: url, model: MODEL });
      try {
        const asked = EXPECTATIONS.filter(
          ({ name, option }) => !OWN_WAYS.some((own) => name.startsWith(own)) && option === undefined,
        );
        const differing = (await judgeAll(asked, line)).filter(({ isProven }) => !isProven);
        assert.deepEqual(differing.map(({ name, seen }) => `${name}: ${seen}`).join('; '), '');
        return `${asked.length} hold; LiteLLM has its own way with ${OWN_WAYS.length} others`;
      } finally {
        await line.close();
      }
    },
  },
];
