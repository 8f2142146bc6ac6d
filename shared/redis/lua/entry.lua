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
