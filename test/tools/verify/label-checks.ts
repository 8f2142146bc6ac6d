import assert from 'node:assert/strict';
import { type Checked, checked } from './check.ts';
import type { Prometheus, Series, Span } from './prometheus.ts';

/** Of one life of a process, what is derived from its spans included. */
const SERIES_MAX = 1_000;

/** Each process states it once. */
const LIFE = 'spillway_redis_up';

/** Looks at the labels of all series. Never rejects. */
export async function checkLabels(prometheus: Prometheus, span: Span): Promise<Checked[]> {
  const once = { ...span, fromMs: span.toMs, stepS: 60 };
  const all = await prometheus.range('last_over_time({__name__=~".+"}[10m])', once);
  const series = all.ok ? all.series : [];
  return Promise.all([
    checked('no label holds a chat, a text, or a name that the model made up', () => noContent(series)),
    checked(`a process leads to at most ${SERIES_MAX} series`, () => bounded(series)),
  ]);
}

function noContent(series: readonly Series[]): string {
  assert.ok(series.length > 0, 'there are no series');
  const values = new Set(series.flatMap(({ labels }) => Object.values(labels)));
  assert.deepEqual(
    [...values].filter((value) => /my_pin|harbour|^1[0-4]\d\d$/.test(value)),
    [],
  );
  return `${values.size} values of labels`;
}

function bounded(series: readonly Series[]): string {
  const lives = new Set(series.flatMap(({ labels }) => (labels.__name__ === LIFE ? [labels.instance] : []))).size;
  const each = Math.round(series.length / lives);
  assert.ok(lives > 0 && each <= SERIES_MAX, `${each} series for each of ${lives} process lives`);
  return `${series.length} series of ${lives} process lives, ${each} each`;
}
