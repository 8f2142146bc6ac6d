import { expect, test } from '@jest/globals';
import { findViolation } from '../../../../worker/model/rules/validate.ts';
import { view } from '../../../../worker/session/view.ts';
import { FACTS, GROUNDS } from '../../../fixture/requests.ts';
import { type Event, lives, SessionLife } from '../../../fixture/session-life.ts';
import { forCases } from '../../../fixture/texts.ts';
import { firstViolation } from '../../../stand-in/claude/rules.ts';

/** A life in which a message waits: what was sent at each step is given to `look`. */
function lived(events: readonly Event[], binds: boolean, look: (life: SessionLife, event: Event) => void): void {
  const life = new SessionLife(binds);
  life.live({ do: 'say', words: 'first', picture: false });
  for (const event of events) {
    // The worker asks about a message before anything else happens to the session.
    const asks = event.do === 'answer' || event.do === 'call';
    life.live(event);
    if (asks && event.do === 'answer') life.live({ do: 'say', words: 'next', picture: false });
    look(life, event);
  }
}

test.each([false, true])('at every step of any session the request breaks no rule (thinking bound: %s)', (binds) => {
  forCases(120, [lives], (events) => {
    lived(events, binds, (life, event) => {
      const request = life.request();
      const broken = findViolation(request, FACTS);
      expect({ event, broken }).toEqual({ event, broken: undefined });
      const grounds = { ...GROUNDS, windowTokens: 10_000_000, bindThinking: binds, memory: life.memory };
      expect({ event, violation: firstViolation(structuredClone(request), grounds) }).toEqual({
        event,
        violation: undefined,
      });
    });
  });
});

test('the pending message is in every request once, last and byte for byte, after any cut, mask or scrub', () => {
  forCases(120, [lives], (events) => {
    lived(events, false, (life) => {
      const { messages } = life.request();
      const waiting = life.pending.toWellFormed();
      expect(messages.at(-1)?.content.at(-1)).toMatchObject({ type: 'text', text: waiting });
      const times = messages.flatMap(({ content }) =>
        typeof content === 'string' ? [content] : content.map(({ text }) => text),
      );
      expect(times.filter((text) => text === waiting)).toHaveLength(1);
    });
  });
});

test('earlier messages change only after a reshaping, so that the prefix is read from the cache', () => {
  forCases(120, [lives], (events) => {
    let before: unknown[] = [];
    lived(events, false, (life) => {
      const messages = view(life.window());
      if (!life.reshaped) expect(messages.slice(0, before.length - 1)).toEqual(before.slice(0, -1));
      life.reshaped = false;
      before = messages;
    });
  });
});
