-- Finds the missing jobs among a few. BullMQ moves a job in one step, so a job that is in no list was lost by Redis. Adding
-- it again would change nothing while its hash exists, so a broken job is removed first. A job whose lock is held is
-- running: it goes back to the active list, where its worker ends it, or its lock expires.
-- KEYS  1 wait   2 paused   3 active   4 delayed   5 prioritized   6 waiting-children   7 completed   8 failed
--       9 absent, for the keys that are not named: see keys.ts
-- ARGV  1 prefix of job keys, then the id of each job that has to be there: few, each is looked for in whole lists
-- Reply {{position among the given ids of each that is missing, from 1}, number of broken jobs that were found}
local function is_listed(id)
  for place = 1, 3 do
    if redis.call('LPOS', KEYS[place], id) then
      return true
    end
  end
  for place = 4, 6 do
    if redis.call('ZSCORE', KEYS[place], id) then
      return true
    end
  end
  return false
end

local function remove(id)
  for place = 1, 3 do
    redis.call('LREM', KEYS[place], 0, id)
  end
  for place = 4, 8 do
    redis.call('ZREM', KEYS[place], id)
  end
  redis.call('DEL', ARGV[1] .. id, ARGV[1] .. id .. ':lock')
end

local missing, broken = {}, 0
for at = 2, #ARGV do
  local id = ARGV[at]
  local isWhole = redis.call('HEXISTS', ARGV[1] .. id, 'data') == 1
  local isListed = is_listed(id)
  if isListed and isWhole then
    -- BullMQ will find it there.
  elseif isWhole and redis.call('EXISTS', ARGV[1] .. id .. ':lock') == 1 then
    redis.call('LPUSH', KEYS[3], id)
    broken = broken + 1
  else
    if isListed or redis.call('EXISTS', ARGV[1] .. id) == 1 then
      remove(id)
      broken = broken + 1
    end
    missing[#missing + 1] = at - 1
  end
end
return { missing, broken }
