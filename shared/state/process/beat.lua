-- Stores when the poller or the webhook last succeeded or failed, by Redis' clock, because the clocks of machines differ.
-- KEYS  1 poll
-- ARGV  1 field for the time   2 kind of the failure if the field is 'otherMs', else ''   3 'poller' | 'webhook'
-- Reply ms since the epoch
-- include: time
local nowMs = now_ms()
redis.call('HSETNX', KEYS[1], 'firstMs', nowMs)
redis.call('HSET', KEYS[1], ARGV[1], nowMs, 'receiver', ARGV[3])
if ARGV[1] == 'unstoredMs' then
  redis.call('HSETNX', KEYS[1], 'unstoredSinceMs', nowMs)
elseif ARGV[1] == 'lastAnswerMs' then
  redis.call('HDEL', KEYS[1], 'unstoredSinceMs')
end
if ARGV[2] ~= '' then
  redis.call('HSET', KEYS[1], 'otherKind', ARGV[2])
end
return nowMs
