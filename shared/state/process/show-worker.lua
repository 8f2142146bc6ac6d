-- Records that a worker process is alive and what runs in it. A full Redis takes this: it takes every write of a script
-- whose first one can only free memory.
-- KEYS  1 workers   2 running   3 cached   4 absent
-- ARGV  1 process   2 what runs in it (JSON)   3 bytes that it keeps of chats, of how many (JSON)
-- Reply the time, ms since the epoch
-- include: time
local nowMs = now_ms()
redis.call('DEL', KEYS[4])
redis.call('ZADD', KEYS[1], nowMs, ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('HSET', KEYS[3], ARGV[1], ARGV[3])
return nowMs
