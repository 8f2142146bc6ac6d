-- Records by Redis' own clock that a model call succeeded, or why it failed.
-- KEYS  1 provider
-- ARGV  1 why it failed, or '' when it went through   2 status, or ''
-- Reply the time, ms since the epoch
-- include: time
local nowMs = now_ms()
if ARGV[1] == '' then
  redis.call('HSET', KEYS[1], 'lastAnswerMs', nowMs)
  redis.call('HDEL', KEYS[1], 'failingSinceMs', 'failures')
  return nowMs
end
redis.call('HSETNX', KEYS[1], 'failingSinceMs', nowMs)
redis.call('HINCRBY', KEYS[1], 'failures', 1)
redis.call('HSET', KEYS[1], 'lastFailureMs', nowMs, 'why', ARGV[1], 'status', ARGV[2])
return nowMs
