-- A fenced write: applies a list of commands atomically, once per step, if this attempt still owns the turn.
-- KEYS  1 turn
-- ARGV  1 fence   2 step, or '' for a write that may repeat   3 key, 4 field, 5 value that must hold, or ''
--       then each command as: number of words, words…
-- Reply 'written' | 'repeated' (this step was written before) | 'fenced' (another attempt took over)
--       | 'moved' (the value that must hold does not)
if redis.call('HGET', KEYS[1], 'fence') ~= ARGV[1] then
  return 'fenced'
end
if ARGV[2] ~= '' and redis.call('HEXISTS', KEYS[1], 'did:' .. ARGV[2]) == 1 then
  return 'repeated'
end
if ARGV[3] ~= '' and redis.call('HGET', ARGV[3], ARGV[4]) ~= ARGV[5] then
  return 'moved'
end
if ARGV[2] ~= '' then
  redis.call('HSET', KEYS[1], 'did:' .. ARGV[2], 1)
end
local at = 6
while at <= #ARGV do
  local words = tonumber(ARGV[at])
  redis.call(unpack(ARGV, at + 1, at + words))
  at = at + words + 1
end
return 'written'
