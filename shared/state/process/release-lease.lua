-- Releases the lease, if the process still has it.
-- KEYS  1 poller:<bot>
-- ARGV  1 the process
-- Reply 1 when it had, else 0.
return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0
