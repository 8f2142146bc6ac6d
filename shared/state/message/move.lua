-- Links a group with the supergroup that it became, and moves the group's session to the supergroup, once. Does nothing
-- while messages wait under the old id: when Telegram refuses the answer to one of them, that message's turn links the chats.
-- KEYS  1 lane of the group   2 its command lane   3 its desk lane   4 chat of the group   5 chat of the supergroup
-- ARGV  1 the group   2 the supergroup
-- Reply 1, or 0 if messages wait or an earlier call did it
local unanswered = redis.call('LLEN', KEYS[1]) + redis.call('LLEN', KEYS[2]) + redis.call('LLEN', KEYS[3])
if unanswered > 0 or redis.call('HEXISTS', KEYS[4], 'movedTo') == 1 then
  return 0
end
local session = redis.call('HGET', KEYS[4], 'session')
if session then
  redis.call('HSETNX', KEYS[5], 'session', session)
end
redis.call('HSET', KEYS[5], 'movedFrom', ARGV[1])
redis.call('HSET', KEYS[4], 'movedTo', ARGV[2])
return 1
