-- An attempt numbers its writes, and the turn stores the fencing token of its owner with the number of the owner's last
-- write. A different token means that another attempt has taken over; a lower number means that Redis has lost a write.
local function writes_of(turn, fence)
  local known = redis.call('HMGET', turn, 'fence', 'writes')
  return known[1] == fence and tonumber(known[2] or 0) or nil
end

-- Whether the attempt with this fencing token owns the turn, and none of its writes up to this number is lost.
local function owns(turn, fence, number)
  return writes_of(turn, fence) == number
end

-- Begins a write of that attempt: its next one, or its last one re-sent. False when the write is not allowed.
local function begin_write(turn, fence, number)
  local last = writes_of(turn, fence)
  if last ~= number and last ~= number - 1 then
    return false
  end
  redis.call('HSET', turn, 'writes', number)
  return true
end
