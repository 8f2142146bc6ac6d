-- Strikes a worker process that is gone off the list, and queues an alert of it: once, whoever else sees it too.
-- KEYS  1 workers   2 running   3 cached   4 alerts
-- ARGV  1 process   2 when it was last seen   3 field where it stood still   4 alert, or '' for none
-- Reply 1 if it was on the list
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
