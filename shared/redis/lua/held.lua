-- Formats a number for Redis. Lua itself would write large numbers with an exponent, and negative zero with its sign.
local function whole(number)
  return string.format('%.0f', number + 0)
end

-- Enters the amount spent of a hold {book, field, most, certain} and frees the hold. A lapsed hold (`is_held` is false) is
-- free already, and its certain cost is entered already. Does nothing if the book has expired. Returns the book's new sum.
local function enter_spent(hold, spent, is_held)
  if redis.call('EXISTS', hold[1]) == 0 then
    return 0
  end
  if is_held then
    redis.call('HINCRBY', hold[1], hold[2] .. ':held', whole(-hold[3]))
  end
  return redis.call('HINCRBY', hold[1], hold[2], whole(spent - (is_held and 0 or hold[4])))
end
