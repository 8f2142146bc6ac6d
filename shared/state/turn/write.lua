-- A fenced write: applies a list of commands atomically, once per step, if this attempt still owns the turn. The number and
-- the step are stored after the commands, so that the write can be repeated if Redis rejects one of the commands.
-- KEYS  1 turn   2 absent, for the keys that are not named: see keys.ts
-- ARGV  1 fence   2 which of this attempt's writes it is: see fence.lua; sent again it has the same number
--       3 step, or '' for a write that another attempt may repeat   4 how many values must hold, then the key, the field and the value of
--       each, '' where there must be none
--       then each command as: number of words, words…; with no step and no command it only checks, after the last write
-- Reply 'written' | 'repeated' (this step was written before) | 'fenced' (another attempt took over, or Redis has lost an
--       earlier write of this one) | 'unmet' (a value that must hold does not); the same when it is sent again
-- include: fence
local last, number = last_write(KEYS[1], ARGV[1], ARGV[2]), number_of(ARGV[2])
if not last then
  return 'fenced'
end
if ARGV[3] == '' and #ARGV == 4 then
  return 'written'
end
local this = ARGV[1] .. ' ' .. number .. ' '
if last == number then
  -- This number was handled before: its reply was stored if it wrote nothing.
  local unwritten = redis.call('HGET', KEYS[1], 'unwritten') or ''
  return unwritten:sub(1, #this) == this and unwritten:sub(#this + 1) or 'written'
end

local function not_written(reply)
  redis.call('HSET', KEYS[1], 'writes', number, 'unwritten', this .. reply)
  return reply
end

if ARGV[3] ~= '' and redis.call('HEXISTS', KEYS[1], 'did:' .. ARGV[3]) == 1 then
  return not_written('repeated')
end
local at = 5
for _ = 1, tonumber(ARGV[4]) do
  if (redis.call('HGET', ARGV[at], ARGV[at + 1]) or '') ~= ARGV[at + 2] then
    return not_written('unmet')
  end
  at = at + 3
end
while at <= #ARGV do
  local words = tonumber(ARGV[at])
  redis.call(unpack(ARGV, at + 1, at + words))
  at = at + words + 1
end
redis.call('HSET', KEYS[1], 'writes', number)
if ARGV[3] ~= '' then
  redis.call('HSET', KEYS[1], 'did:' .. ARGV[3], 1)
end
return 'written'
