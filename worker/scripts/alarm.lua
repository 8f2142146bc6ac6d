-- Queues an alert about the ledger and notes whether an alarm is open, unless another reconciler was faster.
-- KEYS  1 counts   2 alerts
-- ARGV  1 alarmedAtMs as it was read, 0 for no open alarm   2 alarmedAtMs from now on, 0 when the alarm is over
--       3 alert (JSON)
-- Reply 1, or 0 when the alarm is not as it was read: then nothing changed
if (redis.call('HGET', KEYS[1], 'alarmedAtMs') or '0') ~= ARGV[1] then
  return 0
end
if ARGV[2] == '0' then
  redis.call('HDEL', KEYS[1], 'alarmedAtMs')
else
  redis.call('HSET', KEYS[1], 'alarmedAtMs', ARGV[2])
end
redis.call('XADD', KEYS[2], 'MAXLEN', '~', 10000, '*', 'alert', ARGV[3])
return 1
