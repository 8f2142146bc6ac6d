-- Records that a worker process is alive, which proves that this server takes writes; removes those not seen lately.
-- KEYS  1 workers
-- ARGV  1 process   2 ms after which one is forgotten
-- Reply the time, ms since the epoch
-- include: time
local nowMs = now_ms()
redis.call('ZADD', KEYS[1], nowMs, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', nowMs - tonumber(ARGV[2]))
-- Seen before the clock stepped back; who lives is back in a second.
redis.call('ZREMRANGEBYSCORE', KEYS[1], nowMs + tonumber(ARGV[2]), '+inf')
return nowMs
