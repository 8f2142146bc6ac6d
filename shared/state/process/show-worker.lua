-- Stores the heartbeat of a worker process. A full Redis accepts this script, because Redis checks only the first write of a
-- script and always allows DEL.
-- KEYS  1 workers   2 running   3 cached   4 absent: a key that never exists
-- ARGV  1 process   2 its running messages (JSON)   3 its cache use and export trouble (JSON)
-- Reply ms since the epoch
-- include: time
local nowMs = now_ms()
redis.call('DEL', KEYS[4])
redis.call('ZADD', KEYS[1], nowMs, ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('HSET', KEYS[3], ARGV[1], ARGV[3])
return nowMs
