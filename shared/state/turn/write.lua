-- A fenced write: applies a list of commands atomically, once per step, if this attempt still owns the turn. Stores the
-- number and the step after the commands, so that the write can be repeated if Redis rejects one of the commands.
-- KEYS  1 turn   2 absent: a key that never exists; it defers the script while the cluster moves the shard
-- ARGV  1 fencing token   2 numbers of the attempt's last confirmed and last sent write, the same if the call is sent again
--       3 step, or '' for a write that may happen repeatedly   4 number of conditions, then of each condition the key, the
--       field and the expected value, '' for a missing field
--       then each command as: number of words, words…; without step and commands the script only checks the ownership
-- Reply 'written' | 'repeated' (this step was written before) | 'fenced' (another attempt took over, or Redis has lost an
--       earlier write of this one) | 'unmet' (a condition does not hold)
-- include: fence
local last, number = last_write(KEYS[1], ARGV[1], ARGV[2]), number_of(ARGV[2])
if not last then
  return 'fenced'
end
if ARGV[3] == '' and #ARGV == 4 then
  return 'written'
end
local call_id = ARGV[1] .. ' ' .. number .. ' '
if last == number then
  -- This call repeats an earlier call. If the earlier call wrote nothing, it stored its reply in `unwritten`.
  local unwritten = redis.call('HGET', KEYS[1], 'unwritten') or ''
  return unwritten:sub(1, #call_id) == call_id and unwritten:sub(#call_id + 1) or 'written'
end

local function not_written(reply)
  redis.call('HSET', KEYS[1], 'writes', number, 'unwritten', call_id .. reply)
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
