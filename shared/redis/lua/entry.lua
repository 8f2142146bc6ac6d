-- A field of an entry, or of any flat list of names and values; nil when that name is missing.
local function field(fields, name)
  for i = 1, #fields, 2 do
    if fields[i] == name then
      return fields[i + 1]
    end
  end
end

-- The traceparent of a stream entry, '' when it has none or is gone.
local function traceparent_of(stream, entry)
  local found = redis.call('XRANGE', stream, entry, entry)
  return found[1] and field(found[1][2], 'traceparent') or ''
end

-- The fields of an entry, with its message as it was edited; `edited` is false where it was not.
local function as_edited(fields, edited)
  local copy = {}
  for i = 1, #fields, 2 do
    copy[i], copy[i + 1] = fields[i], edited and fields[i] == 'message' and edited or fields[i + 1]
  end
  return copy
end
