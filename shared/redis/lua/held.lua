-- The number as Redis reads it: Lua writes large ones with an exponent, and a zero with its sign.
local function whole(number)
  return string.format('%.0f', number + 0)
end

-- Enters what was spent of a hold {book, field, most, certain}. One that had lapsed is let go already, with what was
-- certain. A book that is gone stays so: its period is long over. Returns what is spent then.
local function enter_spent(hold, spent, is_held)
  if redis.call('EXISTS', hold[1]) == 0 then
    return 0
  end
  if is_held then
    redis.call('HINCRBY', hold[1], hold[2] .. ':held', whole(-hold[3]))
  end
  return redis.call('HINCRBY', hold[1], hold[2], whole(spent - (is_held and 0 or hold[4])))
end
