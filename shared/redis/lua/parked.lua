-- Whether the head of a lane waits for a person: until somebody decides, cancels it or writes something, or its time is over.
local function is_parked(turn, lane, now)
  local parked = redis.call('HMGET', turn, 'parkedUntil', 'parkedBehind', 'cancelled')
  return parked[1]
    and tonumber(parked[1]) > now
    and not parked[3]
    and redis.call('LLEN', lane) - 1 <= tonumber(parked[2])
end
