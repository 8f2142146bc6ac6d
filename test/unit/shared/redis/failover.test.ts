import { expect, test } from '@jest/globals';
import { reconnectOn } from '../../../../shared/redis/failover.ts';

const refusal = (message: string, name = 'evalsha') => Object.assign(new Error(message), { command: { name } });

test.each([
  "READONLY You can't write against a read only replica.",
  "READONLY You can't write against a read only replica. script: 5b5c9cf, on @user_script:8.",
  "ERR Error running script (call to f_5b5c9cf): @user_script:8: @user_script: 8: -READONLY You can't write against a read only replica.",
  "ERR Error running script (call to f_5b5c9cf): @user_script:8: -READONLY You can't write against a read only slave.",
  'LOADING Redis is loading the dataset in memory',
  "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
  'UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)',
])('replaces the connection, and a patient client resends a script, on %s', (message) => {
  expect(reconnectOn('patient')(refusal(message))).toBe(2);
  expect(reconnectOn('patient')(refusal(message, 'xadd'))).toBe(1);
  expect(reconnectOn('patient')(new Error(message))).toBe(1);
  expect(reconnectOn('impatient')(refusal(message))).toBe(1);
});

test.each([
  'NOREPLICAS Not enough good replicas to write.',
  "OOM command not allowed when used memory > 'maxmemory'.",
  'MISCONF Redis is configured to save RDB snapshots',
  'NOSCRIPT No matching script.',
  "ERR unknown command 'READONLY'",
  'EXECABORT Transaction discarded because of previous errors.',
])('keeps the connection on %s', (message) => {
  expect(reconnectOn('patient')(refusal(message))).toBe(false);
});
