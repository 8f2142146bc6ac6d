-- Stores that a model call succeeded or failed, and when, by Redis' clock. A success removes the count of failures.
-- KEYS  1 provider
-- ARGV  1 reason for the failure, or '' for a successful call   2 HTTP status of the failure, or ''
-- Reply ms since the epoch
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
