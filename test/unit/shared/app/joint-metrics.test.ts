import { expect, test } from '@jest/globals';
import { joinMetrics } from '../../../../shared/app/metrics-exchange.ts';

const text = (count: number) => `# HELP turns_total turns that ended
# TYPE turns_total counter
turns_total{outcome="answered"} ${count}
turns_total{outcome="a } b"} 1
# HELP up whether it lives
# TYPE up gauge
up 1
`;

test('each metric is described once, and each sample names its process', () => {
  const joint = joinMetrics(
    new Map([
      ['0', text(3)],
      ['1', `${text(5)}# TYPE late gauge\nlate{} 7\n`],
    ]),
  );
  expect(joint.split('\n')).toEqual([
    '# HELP turns_total turns that ended',
    '# TYPE turns_total counter',
    'turns_total{process="0",outcome="answered"} 3',
    'turns_total{process="0",outcome="a } b"} 1',
    'turns_total{process="1",outcome="answered"} 5',
    'turns_total{process="1",outcome="a } b"} 1',
    '# HELP up whether it lives',
    '# TYPE up gauge',
    'up{process="0"} 1',
    'up{process="1"} 1',
    '# TYPE late gauge',
    'late{process="1",} 7',
    '',
  ]);
});
