-- Stores the time of an answer or a failure of the poller or the webhook, by Redis' clock, because machine clocks differ.
-- KEYS  1 poll
-- ARGV  1 field for the time   2 kind of the failure, or ''   3 'poller' | 'webhook'
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
