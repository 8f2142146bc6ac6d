-- The number of the last write that a turn has stored. Returns nil if another attempt has taken over, or if Redis has lost a
-- write. Each attempt numbers its writes. The newest attempt owns the turn. The turn stores the owner's fencing token and the
-- number of the owner's last write. `numbers` comes from the caller: '<last write that Redis confirmed> <last write sent>'. A
-- write between these two was rejected, or may have taken effect although its reply was lost.
local function last_write(turn, fence, numbers)
  local owner = redis.call('HMGET', turn, 'fence', 'writes')
  local confirmed, sent = numbers:match('^(%d+) (%d+)$')
  local last = owner[1] == fence and tonumber(owner[2] or 0)
  return last and last >= tonumber(confirmed) and last <= tonumber(sent) and last or nil
end

-- The number of the current write: the second number in `numbers`.
local function number_of(numbers)
  return tonumber(numbers:match('%d+$'))
end

-- Begins an idempotent write: stores its number and returns true. Returns false if `last_write` does not allow the write.
local function begin_write(turn, fence, numbers)
  if not last_write(turn, fence, numbers) then
    return false
  end
  redis.call('HSET', turn, 'writes', number_of(numbers))
  return true
end
