"""The rules, one file a family, each a named function with its code and the seed it comes from (design section 4).

Every function is pure: values in, values out. Decisions and alerts quote the codes.
"""
