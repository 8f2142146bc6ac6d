-- Lets a supergroup go on with the conversation of the group that it was, once. While messages wait under the old id
-- nothing is done: the refusal of an answer to one of them does it, in the turn that has the conversation.
-- KEYS  1 lane of the group   2 lane of its commands   3 lane of operators   4 chat of the group   5 chat of the supergroup
-- ARGV  1 the group   2 the supergroup
-- Reply 1, or 0 where messages wait or it was done before
local waiting = redis.call('LLEN', KEYS[1]) + redis.call('LLEN', KEYS[2]) + redis.call('LLEN', KEYS[3])
if waiting > 0 or redis.call('HEXISTS', KEYS[4], 'movedTo') == 1 then
  return 0
end
local session = redis.call('HGET', KEYS[4], 'session')
if session then
  redis.call('HSETNX', KEYS[5], 'session', session)
end
redis.call('HSET', KEYS[5], 'movedFrom', ARGV[1])
redis.call('HSET', KEYS[4], 'movedTo', ARGV[2])
return 1
