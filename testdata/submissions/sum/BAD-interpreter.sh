#!/nonexistent/interpreter
# Proves that a script without its interpreter cannot be executed.
echo 6
