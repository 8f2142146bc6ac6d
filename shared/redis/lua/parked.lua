-- For a turn that waits for a person's decision on a question: returns the deadline in ms since the epoch, the number of
-- messages behind the turn in its lane when the turn began to wait, and the field `cancelled`. Returns nothing for any other
-- turn, or before the question is sent.
local function parked(turn)
  local fields = redis.call('HMGET', turn, 'parkedUntil', 'parkedBehind', 'cancelled', 'parkedAs')
  if fields[1] and redis.call('HEXISTS', turn, 'asked:' .. (fields[4] or '')) == 1 then
    return tonumber(fields[1]), tonumber(fields[2]), fields[3]
  end
end
