-- Appends an action to the record of the operators' actions. A full Redis accepts this script, because Redis checks only the
-- first write of a script and always allows DEL.
-- KEYS  1 actions   2 absent: a key that never exists
-- ARGV  1 about how many actions to keep, then each field and its value
-- Reply id of the action
redis.call('DEL', KEYS[2])
return redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', unpack(ARGV, 2))
