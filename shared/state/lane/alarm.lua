-- Queues an alert about the ledger and stores the state of its alarm. Does nothing if another reconciler did so meanwhile.
-- KEYS  1 counts   2 alerts
-- ARGV  1 alarmedAtMs as the caller read it, 0 for no open alarm   2 alarmedFor as the caller read it, 0 for none
--       3 new alarmedAtMs, 0 when the alarm is over   4 new alarmedFor   5 alert (JSON)
-- Reply 1, or 0 if another caller has changed the alarm since: then nothing changes
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
