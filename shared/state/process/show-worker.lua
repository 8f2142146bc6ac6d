-- Records that a worker process is alive and what runs in it, which proves that this server takes writes.
-- KEYS  1 workers   2 running
-- ARGV  1 process   2 what runs in it (JSON)
-- Reply the time, ms since the epoch
-- include: time
local nowMs = now_ms()
redis.call('ZADD', KEYS[1], nowMs, ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
return nowMs
