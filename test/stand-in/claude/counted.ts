import { judge } from './judge.ts';
import type { StandInModel } from './model.ts';

/** Keys that are about an answer, and so are not taken. */
const OF_ANSWER = ['max_tokens', 'stream', 'temperature', 'metadata'];

/** What `POST /v1/messages/count_tokens` says of a request, however large it is, or why it refuses it. */
export function countedTokens(
  bytes: Buffer | undefined,
  model: StandInModel,
): { input_tokens: number } | { status: number; type: string; message: string } {
  const body = JSON.parse(bytes?.toString() || '{}') as Record<string, unknown>;
  const extra = OF_ANSWER.find((key) => key in body);
  if (extra !== undefined)
    return { status: 400, type: 'invalid_request_error', message: `${extra}: Extra inputs are not permitted` };
  const asked = Buffer.from(JSON.stringify({ ...body, max_tokens: 1, stream: true }));
  const { violation, inputTokens } = judge(asked, (name) => model.groundsFor(name), model.ratio);
  return violation ?? { input_tokens: inputTokens };
}
