-- What a head waits with for a person, who was asked: until when, how many messages stood behind it then, and whether it was
-- cancelled since. Nothing where nobody is waited for. See `shared/state/turn/parking.ts`.
local function parked(turn)
  local found = redis.call('HMGET', turn, 'parkedUntil', 'parkedBehind', 'cancelled', 'parkedAs')
  if found[1] and redis.call('HEXISTS', turn, 'asked:' .. (found[4] or '')) == 1 then
    return tonumber(found[1]), tonumber(found[2]), found[3]
  end
end
