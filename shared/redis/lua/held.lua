-- Formats a number for Redis. Lua itself would write large numbers with an exponent, and negative zero with its sign.
local function whole(number)
  return string.format('%.0f', number + 0)
end

-- Adds the amount that a call has spent to the sum of its hold {hash, field, most, certain}, and frees the hold. If the hold
-- has lapsed (`is_held` is false), it is already free and its `certain` part is in the sum, so this adds only the rest. Returns
-- the new sum; does nothing and returns 0 if the hash has expired.
local function enter_spent(hold, spent, is_held)
  if redis.call('EXISTS', hold[1]) == 0 then
    return 0
  end
  if is_held then
    redis.call('HINCRBY', hold[1], hold[2] .. ':held', whole(-hold[3]))
  end
  return redis.call('HINCRBY', hold[1], hold[2], whole(spent - (is_held and 0 or hold[4])))
end
