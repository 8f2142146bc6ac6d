-- An attempt numbers its writes, and the turn stores the fencing token of its owner with the number of the owner's last
-- write. `at` says where the attempt is: the number of the last write that it knows to have taken effect, a space, and the
-- number of the last one that it sent. A write in between was rejected, or its reply was lost, and may have taken effect.
-- Returns the number of the last write. Returns nil where another attempt has taken over, or Redis has lost a write.
local function last_write(turn, fence, at)
  local owner = redis.call('HMGET', turn, 'fence', 'writes')
  local known, sent = at:match('^(%d+) (%d+)$')
  local last = owner[1] == fence and tonumber(owner[2] or 0)
  return last and last >= tonumber(known) and last <= tonumber(sent) and last or nil
end

-- The number of the current write: the second number of `at`.
local function number_of(at)
  return tonumber(at:match('%d+$'))
end

-- Begins an idempotent write: stores its number. Returns false if `last_write` does not allow the write.
local function begin_write(turn, fence, at)
  if not last_write(turn, fence, at) then
    return false
  end
  redis.call('HSET', turn, 'writes', number_of(at))
  return true
end
