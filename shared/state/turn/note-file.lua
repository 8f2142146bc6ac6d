-- Stores a file for the reply of a turn, once per call of a tool, if this attempt still owns the turn.
-- KEYS  1 turn
-- ARGV  1 fencing token   2 numbers of the attempt's last confirmed and last sent write   3 call of the tool   4 file (JSON)
--       5 maximum number of files of a reply
-- Reply 'noted' (now or before) | 'full' (the reply already has that many files) | 'fenced' (another attempt took over, or
--       Redis has lost a write of this one)
-- include: fence
if not begin_write(KEYS[1], ARGV[1], ARGV[2]) then
  return 'fenced'
end
if redis.call('HEXISTS', KEYS[1], 'filedBy:' .. ARGV[3]) == 1 then
  return 'noted'
end
local number = tonumber(redis.call('HGET', KEYS[1], 'files') or 0) + 1
if number > tonumber(ARGV[5]) then
  return 'full'
end
redis.call('HSET', KEYS[1], 'files', number, 'file:' .. number, ARGV[4], 'filedBy:' .. ARGV[3], number)
return 'noted'
