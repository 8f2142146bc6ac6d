-- Queues an alert about the ledger and stores whether an alarm is open, unless another reconciler was faster.
-- KEYS  1 counts   2 alerts
-- ARGV  1 alarmedAtMs as it was read, 0 for no open alarm   2 alarmedFor as it was read, 0 for none
--       3 alarmedAtMs from now on, 0 when the alarm is over   4 alarmedFor from now on   5 alert (JSON)
-- Reply 1, or 0 when the alarm is not as it was read: then nothing changed
local alarm = redis.call('HMGET', KEYS[1], 'alarmedAtMs', 'alarmedFor')
if (alarm[1] or '0') ~= ARGV[1] or (alarm[2] or '0') ~= ARGV[2] then
  return 0
end
if ARGV[3] == '0' then
  redis.call('HDEL', KEYS[1], 'alarmedAtMs', 'alarmedFor')
else
  redis.call('HSET', KEYS[1], 'alarmedAtMs', ARGV[3], 'alarmedFor', ARGV[4])
end
redis.call('XADD', KEYS[2], '*', 'alert', ARGV[5])
return 1
