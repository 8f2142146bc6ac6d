-- Notes a file for the reply of a turn, once per call of a tool, if this attempt still owns the turn.
-- KEYS  1 turn
-- ARGV  1 fence   2 which write it is: see fence.lua   3 call   4 file (JSON)   5 most files of a reply
-- Reply 'noted' (now or before) | 'full' (the reply has as many files as it may have) | 'fenced'
-- include: fence
if not begin_write(KEYS[1], ARGV[1], ARGV[2]) then
  return 'fenced'
end
if redis.call('HEXISTS', KEYS[1], 'filedBy:' .. ARGV[3]) == 1 then
  return 'noted'
end
local place = tonumber(redis.call('HGET', KEYS[1], 'files') or 0) + 1
if place > tonumber(ARGV[5]) then
  return 'full'
end
redis.call('HSET', KEYS[1], 'files', place, 'file:' .. place, ARGV[4], 'filedBy:' .. ARGV[3], place)
return 'noted'
