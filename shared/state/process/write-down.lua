-- Appends a line to the trail of the operators' actions, even when Redis is full: it takes every write of a script whose
-- first one can only free memory.
-- KEYS  1 actions   2 absent
-- ARGV  1 about how many lines are kept, then each field and its value
-- Reply id of the line
redis.call('DEL', KEYS[2])
return redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', unpack(ARGV, 2))
