-- An attempt numbers its writes, and the turn knows the fence of the attempt that owns it with the number of its last write.
-- Where it knows another fence, another attempt has taken over; where it knows a lower number, Redis has lost a write.
local function writes_of(turn, fence)
  local known = redis.call('HMGET', turn, 'fence', 'writes')
  return known[1] == fence and tonumber(known[2] or 0) or nil
end

-- Whether the attempt with this fence owns the turn, and none of its writes up to this number is lost.
local function owns(turn, fence, number)
  return writes_of(turn, fence) == number
end

-- Begins a write of that attempt: its next one, or its last one sent again. False when it must not be made.
local function begin_write(turn, fence, number)
  local last = writes_of(turn, fence)
  if last ~= number and last ~= number - 1 then
    return false
  end
  redis.call('HSET', turn, 'writes', number)
  return true
end
