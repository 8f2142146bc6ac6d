import { expect, test } from '@jest/globals';
import { webhookChannel } from '../../../worker/alerts/webhook.ts';
import { cleanUps } from '../../fixture/clean-ups.ts';
import { startAlertReceiver } from '../../stand-in/alert-receiver.ts';

/** What `ALERT_WEBHOOK_URL` is sent, held to a strict receiver. */

async function receiving(retryMs = 20) {
  const receiver = await startAlertReceiver();
  cleanUps.push(receiver.stop);
  return { receiver, webhook: webhookChannel(receiver.url, retryMs) };
}

test('no words of an alert are marks there, neither a command of ours nor a name that calls everybody', async () => {
  const { receiver, webhook } = await receiving();
  const text = 'Taken by <!channel> & Co. "cli message <id>" says more. <https://evil.example|Log in>';
  expect(await webhook.send(text)).toEqual({ ok: true });
  expect(receiver.taken).toEqual([
    {
      text: 'Taken by &lt;!channel&gt; &amp; Co. "cli message &lt;id&gt;" says more. &lt;https://evil.example|Log in&gt;',
    },
  ]);
  expect(await webhook.send('漢字🙂\u0000\ud800'.repeat(2_000))).toEqual({ ok: true });
});

test('what is no success is none, its answer is not quoted, and a redirect is not followed', async () => {
  const { receiver, webhook } = await receiving(0);
  const elsewhere = await startAlertReceiver();
  cleanUps.push(elsewhere.stop);
  const page = '<!DOCTYPE html><title>Log in</title>';
  const moved = { headers: { location: elsewhere.url } };
  for (const [mischief, why] of [
    [{ status: 400, body: '{"errors":["the key e93facc0 is wrong"]}' }, 'status 400'],
    [{ status: 500 }, 'status 500'],
    [{ status: 200, body: page, headers: { 'content-type': 'text/html' } }, 'status 200 with a web page'],
    [{ status: 404, body: page }, 'status 404 with a web page'],
    ...[301, 302, 307, 308].map((status) => [{ status, ...moved }, `status ${status}`] as const),
  ] as const) {
    receiver.fail(mischief);
    expect(await webhook.send('It fails.')).toEqual({ ok: false, why });
  }
  expect(elsewhere.statuses).toEqual([]);
  expect(await webhook.send('It fails.')).toEqual({ ok: true });
  const why = expect.not.stringMatching(/secret/);
  expect(await webhookChannel('http://127.0.0.1:1/secret-word', 20).send('It fails.')).toEqual({ ok: false, why });
});

test('asked to wait, it tries nothing for so long; a day at once is too much', async () => {
  const { receiver, webhook } = await receiving();
  receiver.fail({ status: 429, headers: { 'retry-after': '1' } });
  const refused = { ok: false, why: 'status 429' } as const;
  expect(await webhook.send('It fails.')).toEqual({ ...refused, retryAfterMs: 1_000 });
  expect(await webhook.send('It fails.')).toMatchObject({ ...refused, isAway: true });
  expect(receiver.statuses).toHaveLength(1);
  const patient = await receiving();
  patient.receiver.fail({ status: 429, headers: { 'retry-after': '86400' } });
  expect(await patient.webhook.send('It fails.')).toEqual({ ...refused, retryAfterMs: 900_000 });
});
