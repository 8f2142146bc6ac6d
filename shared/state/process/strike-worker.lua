-- Removes a dead worker process from the list of workers and queues the caller's alert, if any. If several processes call
-- this, only the first call does so.
-- KEYS  1 workers   2 running   3 cached   4 alerts
-- ARGV  1 process   2 time of its last heartbeat   3 its field of `running` for the place where it froze   4 alert, or ''
-- Reply 1, or 0 if another caller did it, or if the process has written a heartbeat since
if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1])) ~= tonumber(ARGV[2]) then
  return 0
end
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1], ARGV[3])
redis.call('HDEL', KEYS[3], ARGV[1])
if ARGV[4] ~= '' then
  redis.call('XADD', KEYS[4], '*', 'alert', ARGV[4])
end
return 1
